-- Sends the requests of a file in turn, a JSON-free line format: one body a line (POST) or none (GET).
-- Arguments after --: method, path, body file or "-", then header lines "Name: value".
local requests, turn = {}, 0

function init(args)
  local method, path, file = args[1], args[2], args[3]
  local headers = {}
  for i = 4, #args do
    local name, value = args[i]:match("^([^:]+): (.*)$")
    headers[name] = value
  end
  if file == "-" then
    requests[1] = wrk.format(method, path, headers)
  else
    for body in io.lines(file) do
      requests[#requests + 1] = wrk.format(method, path, headers, body)
    end
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  io.write(string.format(
    '\n@@{"requests":%d,"duration_us":%d,"failed":%d,"status":%d,"p50_us":%d,"p99_us":%d}\n',
    summary.requests, summary.duration,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    summary.errors.status, latency:percentile(50), latency:percentile(99)))
end
