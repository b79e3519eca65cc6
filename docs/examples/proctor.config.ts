// proctor.config.ts
import { defineConfig } from 'proctor';

export default defineConfig({
  gateways: {
    'claude-*': { url: 'https://gateway.example/v1', apiKey: process.env.CLAUDE_KEY },
    '*': { url: 'http://127.0.0.1:11434/v1' },
  },
  environments: {
    shop: './elsewhere/shop/environment.ts',
    desk: { command: 'python', args: ['desk_server.py'] },
    remote: {
      url: 'https://desk.example/mcp',
      headers: { authorization: `Bearer ${process.env.DESK_TOKEN}` },
      harnessKey: process.env.DESK_HARNESS_KEY,
    },
  },
});
