import { EnvironmentServer, serveMain } from 'proctor';

const openLamp = async (width: number, height: number, signal: AbortSignal) => {
  signal.throwIfAborted();
  return { size: `${width} x ${height}`, isBurning: true };
};

/** What happens around its tools is written to standard error. */
export default function lighthouse() {
  const env = new EnvironmentServer({ name: 'lighthouse' });
  let lamp: Awaited<ReturnType<typeof openLamp>> | undefined;

  env.initialize(async ({ meta, progress, signal }) => {
    progress(10, 100, 'Climbing the stairs.');
    lamp = await openLamp(meta.display_width, meta.display_height, signal);
    progress(100, 100, 'The lamp burns.');
    console.log('initialize', lamp.size);
  });

  env.close(() => {
    lamp = undefined;
    console.log('close');
  });

  env.shutdown(() => console.log('shutdown, first declared'));
  env.shutdown(() => console.log('shutdown, declared last'));

  env.tool('look', {}, () => (lamp?.isBurning ? `A light of ${lamp.size}.` : 'It is dark.'));

  return env;
}

serveMain(import.meta, lighthouse);
