import { expect, it } from 'vitest';
import { freePort } from '../../free-port.ts';
import { openParts, startService } from './service.ts';

it('a service whose worker cannot start leaves its port, and nothing that listens', async () => {
  const parts = await openParts();
  const port = await freePort();
  const queue = Object.create(parts.queue, {
    onEntry: {
      value: () => {
        throw new Error('no entries');
      },
    },
  });
  await expect(startService({ parts: { ...parts, queue }, port })).rejects.toThrow('no entries');
  const service = await startService({ parts, port });
  expect((await service.request('/healthz')).status).toBe(200);
});
