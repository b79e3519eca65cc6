// FastMCP for TypeScript, over stdio, or over HTTP where PORT is set.
import { FastMCP } from 'fastmcp';
import { z } from 'zod';

const server = new FastMCP({ name: 'echo', version: '1.0.0' });
server.addTool({
  name: 'echo',
  description: 'Echo',
  parameters: z.object({ message: z.string() }),
  execute: async ({ message }) => message,
});
const port = process.env.PORT;
await server.start(
  port === undefined
    ? { transportType: 'stdio' }
    : { transportType: 'httpStream', httpStream: { port: Number(port), host: '127.0.0.1', enableJsonResponse: true } },
);
