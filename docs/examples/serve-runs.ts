import { serveRuns } from 'proctor/run-service';

/** Serves the environments of a project, plays one run there, and gives its reward. */
export async function playOnce(directory: string, port: number): Promise<number | null> {
  const service = await serveRuns({ directory, port, store: `sqlite:${directory}/runs.db` });
  try {
    const { reward } = await service.client.runs.create(
      { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 3 }, model: 'proctor/oracle' },
      { waitSeconds: 60 },
    );
    return reward ?? null;
  } finally {
    await service.close();
  }
}
