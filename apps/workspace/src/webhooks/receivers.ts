/** Receivers that answer a test event, of about ten lines each; every one listens on port 3000, behind a TLS proxy. */
export const RECEIVERS = [
  {
    id: 'node',
    title: 'Node',
    text: `// node receiver.mjs
import { createServer } from 'node:http'

createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const event = JSON.parse(body)
  console.log(event.type, event.vendorId, event.sentAt)
  response.writeHead(204).end()
}).listen(3000)
`,
  },
  {
    id: 'python',
    title: 'Python',
    text: `# python3 receiver.py
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(event["type"], event["vendorId"], event["sentAt"], flush=True)
        self.send_response(204)
        self.end_headers()

HTTPServer(("", 3000), Receiver).serve_forever()
`,
  },
  {
    id: 'go',
    title: 'Go',
    text: `// go run receiver.go
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		var event struct{ Type, VendorId, SentAt string }
		if json.NewDecoder(r.Body).Decode(&event) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Println(event.Type, event.VendorId, event.SentAt)
		w.WriteHeader(http.StatusNoContent)
	})
	http.ListenAndServe(":3000", nil)
}
`,
  },
  {
    id: 'php',
    title: 'PHP',
    text: `<?php // php -S 0.0.0.0:3000 receiver.php
$event = json_decode(file_get_contents('php://input'), true);
if (!is_array($event)) {
    http_response_code(400);
    exit;
}
error_log("{$event['type']} {$event['vendorId']} {$event['sentAt']}");
http_response_code(204);
`,
  },
] as const
