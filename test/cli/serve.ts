import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { freePort } from '../free-port.ts';
import { createProject, start } from './command.ts';

/** A service with `counter`, and a directory without environments, where its clients are. */
export async function serve(env: Readonly<Record<string, string>> = {}) {
  const directory = createProject('counter');
  const port = await freePort();
  const service = start(['serve', '--port', String(port), '--scenario-port', String(await freePort()), '--json'], {
    cwd: directory,
    env,
  });
  const [line] = await service.prints(/^\{.*\}$/m);
  const { url, key_file } = z.object({ url: z.string(), key_file: z.string() }).parse(JSON.parse(line));
  const key = readFileSync(join(directory, key_file), 'utf8').trim();
  return { directory, url, key, at: { cwd: createProject(), env: { PROCTOR_API_KEY: key } } };
}
