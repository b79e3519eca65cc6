// The SDK alone, with one tool: the least that a process costs which serves MCP over stdio.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

serveStdio(() => {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' });
  server.registerTool('read', { inputSchema: z.object({}) }, () => ({ content: [] }));
  return server;
});
