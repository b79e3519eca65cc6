// The floor: JSON in, JSON out, without a protocol. Over stdio, or over HTTP where PORT is set.
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const answer = (line) => {
  const { id, params } = JSON.parse(line);
  const text = params?.arguments?.message ?? '';
  return JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });
};

if (process.env.PORT === undefined) {
  createInterface({ input: process.stdin }).on('line', (line) => process.stdout.write(`${answer(line)}\n`));
} else {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'floor' });
      response.end(answer(body));
    });
  });
  server.listen(Number(process.env.PORT), '127.0.0.1');
}
