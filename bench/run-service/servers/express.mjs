// The floor of an accepted request: express parses it and answers, and nothing is kept.
import { randomBytes } from 'node:crypto';
import express from 'express';
import { answerQuestions } from '../../measured.mjs';

const app = express();
app.use(express.json());
app.post('/v1/agent/run', (_request, response) => {
  const trace_id = randomBytes(16).toString('hex');
  response.json({ trace_id, trace_url: `http://127.0.0.1:8320/traces/${trace_id}`, status: 'queued' });
});
const server = app.listen(0, '127.0.0.1', () => {
  answerQuestions();
  process.send?.({ url: `http://127.0.0.1:${server.address().port}` });
});
