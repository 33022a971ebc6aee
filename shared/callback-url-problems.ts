/**
 * Why a callback URL is refused. The key is the problem's `code`; `sentence` is for the person who typed the URL:
 * it names the rule and, where it helps, what to do.
 */
export const CALLBACK_URL_PROBLEMS = {
  callback_url_not_text: {
    status: 422,
    title: 'The callback URL is not a text',
    sentence: 'Send callbackUrl as a text such as https://hooks.example.com/events.',
  },
  callback_url_empty: {
    status: 422,
    title: 'The callback URL is empty',
    sentence: 'Enter a URL: a callback can be replaced by another one, but not removed.',
  },
  callback_url_too_long: {
    status: 422,
    title: 'The callback URL is too long',
    sentence: 'The URL may have at most 2,048 bytes, also when its special characters are percent-encoded.',
  },
  callback_url_white_space: {
    status: 422,
    title: 'The callback URL has white space in it',
    sentence: 'The URL has a space or another white-space character in it; remove it, or write %20.',
  },
  callback_url_invisible_character: {
    status: 422,
    title: 'The callback URL has invisible characters in it',
    sentence:
      'The URL has a control, formatting or other invisible character in it; type it again by hand instead of pasting it.',
  },
  callback_url_backslash: {
    status: 422,
    title: 'The callback URL has a backslash in it',
    sentence: 'The URL has a backslash in it; write / instead.',
  },
  callback_url_not_https: {
    status: 422,
    title: 'The callback URL does not use HTTPS',
    sentence: 'The URL must start with https:// so that the event is sent over an encrypted connection.',
  },
  callback_url_malformed: {
    status: 422,
    title: 'The callback URL is not well formed',
    sentence:
      'This is not a URL that can be understood; it should look like https://hooks.example.com/events.',
  },
  callback_url_userinfo: {
    status: 422,
    title: 'The callback URL has a user name in it',
    sentence: 'Remove the user name and password before the @: credentials must not be part of the URL.',
  },
  callback_url_encoded_host: {
    status: 422,
    title: 'The host of the callback URL is percent-encoded',
    sentence: 'Write the host name plainly, without % codes.',
  },
  callback_url_fragment: {
    status: 422,
    title: 'The callback URL has a fragment',
    sentence: 'Remove the # and what follows it: that part of a URL is never sent to a server.',
  },
  callback_url_port: {
    status: 422,
    title: 'The port of the callback URL is not allowed',
    sentence:
      'Use port 443, or one from 1024 up that is not reserved for another protocol than HTTP, such as 8443.',
  },
  callback_url_host_name: {
    status: 422,
    title: 'The host of the callback URL is not a host name',
    sentence:
      'The host is not a valid name: its parts hold letters, digits and hyphens, at most 63 each and 253 together.',
  },
  callback_url_trailing_dot: {
    status: 422,
    title: 'The host of the callback URL ends with a dot',
    sentence: 'Remove the dot at the end of the host name.',
  },
  callback_url_reserved_name: {
    status: 422,
    title: 'The host of the callback URL can never be public',
    sentence:
      'Names such as localhost or ones under .local, .internal or .test exist only inside a network; use a name that the whole internet can find.',
  },
  callback_url_single_label: {
    status: 422,
    title: 'The host of the callback URL is not a full name',
    sentence: 'Write the full name of the host, with its domain, such as hooks.example.com.',
  },
  callback_url_top_level: {
    status: 422,
    title: 'The host of the callback URL has no real top-level domain',
    sentence: 'The host name must end with a top-level domain that exists, such as .com or .de.',
  },
  callback_url_credential: {
    status: 422,
    title: 'The callback URL carries a credential',
    sentence:
      'A parameter of the URL is named like a credential (token, key, password, signature …); credentials must not be part of the URL.',
  },
  callback_url_secret: {
    status: 422,
    title: 'The callback URL holds a secret',
    sentence:
      'A part of the URL looks like a secret key or an access token; remove it from the URL, and replace the secret if it was real.',
  },
  callback_url_private_address: {
    status: 422,
    title: 'The callback URL names an address that is not public',
    sentence: 'Use an address that the whole internet can reach.',
  },
  callback_url_resolves_to_private_address: {
    status: 422,
    title: 'The host of the callback URL does not only have public addresses',
    sentence:
      'DNS names an address for this host that is not public; every address of the host must be reachable from the whole internet.',
  },
} as const

export type CallbackUrlProblemCode = keyof typeof CALLBACK_URL_PROBLEMS
