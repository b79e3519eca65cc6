// The ceiling: the SDK's protocol core behind the least that could be called a transport, without a single check.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/server';

const sessions = new Map();

class BareTransport {
  sessionId = randomUUID();
  #waiting = new Map();

  async start() {}
  async close() {}

  receive(message, response) {
    if (message.id !== undefined) this.#waiting.set(message.id, response);
    else response.writeHead(202).end();
    this.onmessage(message);
  }

  async send(message) {
    const response = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    const body = JSON.stringify(message);
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'mcp-session-id': this.sessionId,
    });
    response.end(body);
  }
}

async function open() {
  const server = new Server({ name: 'echo', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text', text: params.arguments.message }],
  }));
  const transport = new BareTransport();
  await server.connect(transport);
  sessions.set(transport.sessionId, transport);
  return transport;
}

createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const transport = sessions.get(request.headers['mcp-session-id']) ?? (await open());
    transport.receive(JSON.parse(Buffer.concat(chunks).toString()), response);
  });
}).listen(Number(process.env.PORT), '127.0.0.1');
