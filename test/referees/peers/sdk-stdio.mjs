// The SDK alone, over stdio: one tool that answers what it is given.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'echo', version: '1.0.0' });
  server.registerTool(
    'echo',
    { description: 'Echo', inputSchema: z.object({ message: z.string() }) },
    ({ message }) => ({
      content: [{ type: 'text', text: message }],
    }),
  );
  return server;
});
