-- Sends the requests of a file in turn. Arguments after --: the file, and how many of its requests to skip at first.
-- A line is a request, its parts separated by tabs: method, path, body (may be empty), then `Name: value` headers.
local requests, turn = {}, 0
local started = false

local function parse(line)
  local parts = {}
  for part in (line .. "\t"):gmatch("([^\t]*)\t") do
    parts[#parts + 1] = part
  end
  local headers = {}
  for i = 4, #parts do
    local name, value = parts[i]:match("^([^:]+): (.*)$")
    headers[name] = value
  end
  local body = parts[3]
  if body == "" then body = nil end
  return wrk.format(parts[1], parts[2], headers, body)
end

function init(args)
  for line in io.lines(args[1]) do
    requests[#requests + 1] = parse(line)
  end
  turn = tonumber(args[2]) % #requests
end

function request()
  if not started then
    started = true
    io.write("@@started\n")
    io.flush()
  end
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  io.write(string.format(
    '\n@@{"requests":%d,"seconds":%.6f,"failed":%d,"refused":%d,"p99_ms":%.3f}\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    summary.errors.status, latency:percentile(99) / 1e3))
end
