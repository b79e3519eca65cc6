import { connectEnvironment } from 'proctor/client';

/** Plays one task against an environment that is served over HTTP, and gives its reward. */
export async function grade(url: string, harnessKey: string, answer: string): Promise<number> {
  const client = await connectEnvironment({ kind: 'url', url, harnessKey });
  try {
    const { prompt, tools } = await client.setup('solve', { page: 1 }); // asked as the harness
    const offered = await client.tools({ patterns: tools }); // listed as an agent: what a model may have
    console.log(prompt, offered);
    await client.call('book', { name: 'read', arguments: { page: 1 } }); // called as an agent
    const { reward } = await client.evaluate('solve', answer); // asked as the harness
    return reward;
  } finally {
    await client.close();
  }
}
