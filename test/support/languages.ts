/** Variables with which programs that run for a second start sooner: their commands stay as they are. */
export const QUICK_START = {
  // Code that runs once is not worth the second compiler, nor its heap several collectors.
  JAVA_TOOL_OPTIONS: '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto',
  // No debugging information is linked.
  GOFLAGS: '-ldflags=-w',
  CGO_ENABLED: '0',
}
