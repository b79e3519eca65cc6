import { request } from 'node:http';

/** Containers, images and networks that an engine has of an owner. It asks the engine itself, past the code under test. */
export async function leftovers(url: string, owner: string): Promise<readonly string[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`dev.proctor.owner=${owner}`] }));
  const lists = [
    `/containers/json?all=1&filters=${filters}`,
    `/images/json?filters=${filters}`,
    `/networks?filters=${filters}`,
  ];
  const found = await Promise.all(lists.map((path) => ask(new URL(url).pathname, path)));
  return found.flat().map(({ Id }) => Id);
}

function ask(socketPath: string, path: string): Promise<readonly { readonly Id: string }[]> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, path, agent: false }, (reply) => {
      let text = '';
      reply.on('data', (chunk) => {
        text += String(chunk);
      });
      reply.on('end', () => resolve(JSON.parse(text)));
    });
    asking.on('error', reject);
    asking.end();
  });
}
