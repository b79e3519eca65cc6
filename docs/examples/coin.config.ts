import { defineConfig } from 'proctor';

export default defineConfig({
  gateways: {
    'coin-*': { url: 'http://127.0.0.1:8399/v1', prices: { input: 2, output: 8 }, maxOutputTokens: 1_000 },
  },
});
