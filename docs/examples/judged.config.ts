import { defineConfig } from 'proctor';

export default defineConfig({
  gateways: { '*': { url: 'https://api.openai.com/v1', apiKey: process.env.OPENAI_API_KEY } },
  models: { user: 'gpt-5-mini', judge: 'gpt-5' },
});
