// The SDK with its stock Streamable HTTP transport, JSON answers: a session for each client, and none of the checks.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const sessions = new Map();
const schema = z.object({ message: z.string() });

function createEcho() {
  const server = new McpServer({ name: 'echo', version: '1.0.0' });
  server.registerTool('echo', { description: 'Echo', inputSchema: schema }, ({ message }) => ({
    content: [{ type: 'text', text: message }],
  }));
  return server;
}

const modern = toNodeHandler(createMcpHandler(createEcho, { legacy: 'reject' }));

async function answer(request, response) {
  if (request.headers['mcp-protocol-version'] === '2026-07-28') return modern(request, response);
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (transport === undefined) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (name) => void sessions.set(name, transport),
    });
    await createEcho().connect(transport);
  }
  await transport.handleRequest(request, response);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(Number(process.env.PORT), '127.0.0.1');
