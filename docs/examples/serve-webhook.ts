import { createServiceClient } from 'proctor/client';
import { createWebhook } from './webhook.ts';

const { PROCTOR_URL: baseUrl = 'http://127.0.0.1:8320', PROCTOR_API_KEY: apiKey = '' } = process.env;
const { WEBHOOK_SECRET: secret, PORT = '8330' } = process.env;
if (!secret) throw new Error('Set WEBHOOK_SECRET to what the sender signs with.');
const server = createWebhook(createServiceClient({ baseUrl, apiKey }), secret).listen(Number(PORT), '127.0.0.1');
server.once('listening', () => console.log('POST /deployed', server.address()));
