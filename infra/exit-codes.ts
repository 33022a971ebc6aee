/** The exit code of a command with arguments that it does not take, as in BSD's sysexits.h. */
export const EXIT_USAGE = 64
