import { serve } from 'proctor';
import bank from './bank.ts';

const server = await serve(bank, {
  transport: 'http',
  port: 0, // any free one
  bearerToken: process.env.BANK_TOKEN,
  harnessKey: process.env.BANK_HARNESS_KEY,
});
console.log(`The bank is open at ${server.url}`);
process.once('SIGINT', () => void server.close());
