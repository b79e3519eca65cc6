import { defineConfig } from 'proctor';

export default defineConfig({
  environments: {
    shop: { path: './shop/environment.ts', concurrency: 4, memoryMiB: 512 },
    desk: { command: 'python', args: ['desk_server.py'], memoryMiB: 4096 },
    remote: { url: 'https://desk.example/mcp', concurrency: 2 },
  },
});
