import { type Agent, request } from 'node:http';

const BODY = JSON.stringify({
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: 3 },
  model: 'proctor/oracle',
  metadata: { suite: 'accept' },
});

/** Sends one run of `counter` and waits until it is accepted. @throws Error with the answer where it is not. */
export function acceptRun(url: string, key: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(BODY),
    };
    const sending = request(`${url}/v1/agent/run`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`${response.statusCode}: ${text}`));
      });
    });
    sending.once('error', reject);
    sending.end(BODY);
  });
}
