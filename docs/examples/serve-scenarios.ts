import OpenAI from 'openai';
import { serveScenarios } from 'proctor/scenario-server';
import desk from './refund.ts';

const server = await serveScenarios({
  environment: desk, // or environments: [desk, './elsewhere/shop/environment.ts', …]
  client: new OpenAI({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY }),
  model: 'gpt-5-mini',
  port: 0, // any free one; default 8321
  maxSteps: 20,
});
console.log(`Scenarios at ${server.url}/v1`);
process.once('SIGINT', () => void server.close());
