"""An agent at a seat, with nothing but Python: python3 seat_agent.py <url> <authorization>"""

import json
import sys
import urllib.request


class Seat:
    def __init__(self, url, authorization):
        self.url, self.id = url, 0
        self.headers = {
            "Authorization": authorization,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "my-agent", "version": "1.0.0"}}
        self.ask("initialize", about)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method, params):
        self.id += 1
        return self.send({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params})["result"]

    def call(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def send(self, message):
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=600) as reply:
            self.headers["Mcp-Session-Id"] = reply.headers.get("Mcp-Session-Id", "")
            text = reply.read().decode()
        lines = [line[6:] for line in text.splitlines() if line.startswith("data: {")]
        return json.loads(lines[-1] if lines else text or "{}")


seat = Seat(sys.argv[1], sys.argv[2])
print(seat.ask("prompts/get", {"name": "task"})["messages"])
print([tool["name"] for tool in seat.ask("tools/list", {})["tools"]])
print(seat.call("increment", by=3)["content"])
print(seat.call("submit_answer", answer="The counter shows 3.")["structuredContent"])
