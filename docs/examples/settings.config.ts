import { defineConfig } from 'proctor';

export default defineConfig({
  environments: {
    shop: './shop/environment.ts',
    bank: { path: './bank/environment.ts', env: { BANK_DATA: './data' }, concurrency: 4, memoryMiB: 512 },
    desk: { command: 'python', args: ['server.py'], cwd: './desk', env: { DESK_MODE: 'exam' } },
    remote: {
      url: 'https://desk.example/mcp',
      headers: { authorization: `Bearer ${process.env.DESK_TOKEN}` },
      harnessKey: process.env.DESK_HARNESS_KEY,
      concurrency: 2,
    },
  },
  gateways: {
    'claude-*': {
      url: 'https://gateway.example/v1',
      apiKey: process.env.CLAUDE_KEY,
      prices: { input: 3, cached: 0.3, output: 15 },
      maxOutputTokens: 8_192,
    },
    '*': { url: 'http://127.0.0.1:11434/v1' },
  },
  agents: {
    graph: { command: ['node', 'agents/langgraph.mjs', '{mcp_url}', '{prompt}'] },
    colleague: {
      command: ['python3', 'agents/play.py', '{mcp_url}'],
      protocol: 'exec',
      needs: 'none',
      env: { COLLEAGUE_KEY: process.env.COLLEAGUE_KEY ?? '' },
      version: '2026-01',
      readable: ['./agents/notes'],
    },
  },
  models: { user: 'gpt-5-mini', judge: 'gpt-5' },
  trainers: {
    tuner: { kind: 'openai', url: 'https://api.openai.com/v1', apiKey: process.env.TUNER_KEY },
    script: { kind: 'command', command: ['python', 'train.py'], gateway: '*', deploy: 'vllm-lora' },
  },
  store: 'postgres://proctor@db.example/proctor',
  queue: 'redis://queue.example:6379',
  ports: { runService: 9000, scenarioServer: 9001 },
  redact: true,
});
