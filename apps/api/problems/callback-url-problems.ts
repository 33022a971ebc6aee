/**
 * Why a callback URL is refused (422). The key is the problem's `code`. The sentence tells the person who
 * typed the URL which rule it violates and, where it helps, how to fix it.
 */
export const CALLBACK_URL_PROBLEMS = {
  callback_url_not_text: 'Send callbackUrl as a string such as https://hooks.example.com/events.',
  callback_url_empty: 'Enter a URL. A callback can be replaced, but not removed.',
  callback_url_too_long:
    'The URL can be at most 2,048 bytes long, counted with its special characters percent-encoded.',
  callback_url_white_space:
    'The URL contains a space or another white-space character; remove it or write %20.',
  callback_url_invisible_character:
    'The URL contains an invisible control or formatting character; type it instead of pasting it.',
  callback_url_backslash: 'The URL contains a backslash; use / instead.',
  callback_url_not_https:
    'The URL must start with https:// so that events travel over an encrypted connection.',
  callback_url_malformed: 'This is not a valid URL; it should look like https://hooks.example.com/events.',
  callback_url_userinfo:
    'Remove the user name and password before the @; a URL must not contain credentials.',
  callback_url_encoded_host: 'Write the host name without percent-encoding.',
  callback_url_fragment:
    'Remove the # and everything after it; that part of a URL is never sent to the server.',
  callback_url_port:
    'Use port 443, or a port from 1024 up that is not reserved for another protocol, such as 8443.',
  callback_url_host_name:
    'The host name is invalid. Its parts may contain letters, digits and hyphens; each part can have up to 63 characters, the whole name up to 253.',
  callback_url_trailing_dot: 'Remove the dot at the end of the host name.',
  callback_url_reserved_name:
    'Names such as localhost, or names under .local, .internal or .test, work only inside a private network; use a public host name.',
  callback_url_single_label: 'Use the full host name with its domain, such as hooks.example.com.',
  callback_url_top_level: 'The host name must end with a real top-level domain, such as .com or .de.',
  callback_url_credential:
    'A parameter carries a credential (code, key, sig, signature, token, password …), which a URL must not contain. Save the URL of a relay of your own that adds it.',
  callback_url_secret:
    'Part of the URL looks like a secret key or an access token. Remove it, and if it is real, replace it at its issuer; a relay of your own can add it.',
  callback_url_private_address: 'Use a publicly reachable address.',
  callback_url_resolves_to_private_address:
    'DNS returned an address for this host that is not public; every address of the host must be publicly reachable.',
} as const

export type CallbackUrlProblemCode = keyof typeof CALLBACK_URL_PROBLEMS
