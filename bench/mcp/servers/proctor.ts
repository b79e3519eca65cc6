// An environment with one tool that answers what it is given, compiled as an author would ship it.
import { EnvironmentServer, serveMain } from 'proctor';
import { z } from 'zod';

export default class Echo extends EnvironmentServer {
  constructor() {
    super({ name: 'echo', version: '1.0.0' });
    this.tool('echo', { description: 'Echo', args: z.object({ message: z.string() }) }, ({ message }) => message);
  }
}

serveMain(import.meta, Echo);
