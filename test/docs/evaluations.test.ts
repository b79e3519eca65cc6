import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createCoinGateway } from '../../docs/examples/coin-gateway.ts';
import { proctor } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { createFolder, ROOT, read } from './documents.ts';

const PAGE = 'docs/evaluations.md';
/** Where the configuration of the page says that the gateway is; any free port here. */
const PORT_OF_PAGE = '8399';

/** Blocks of plain text below a command of the page. */
function outputBelow(command: string): readonly string[] {
  const after = read(PAGE).split(command)[1] ?? '';
  return (/```text\n([\s\S]*?)```/.exec(after)?.[1] ?? '').trimEnd().split('\n');
}

/** Ids differ from time to time, and so does how long something takes. */
function comparable(line: string): string {
  return line.replaceAll(/eval_[0-9a-f]{32}/g, 'eval_…').replace(/^( {2}time +).*/, '$1…');
}

describe(PAGE, { timeout: 600_000 }, () => {
  it('takes a reader from nothing to the sentence that it shows, with the output that it shows', async () => {
    const port = await freePort();
    const gateway = createCoinGateway();
    await new Promise<void>((resolve, reject) => {
      gateway.once('error', reject);
      gateway.listen(port, '127.0.0.1', resolve);
    });
    onTestFinished(() => gateway.closeAllConnections());
    onTestFinished(() => void gateway.close());
    const cwd = createFolder();
    mkdirSync(join(cwd, 'environments'));
    mkdirSync(join(cwd, 'tasksets'));
    symlinkSync(join(ROOT, 'environments/counter'), join(cwd, 'environments/counter'));
    const config = read('docs/examples/coin.config.ts').replace(PORT_OF_PAGE, String(port));
    expect(read(PAGE)).toContain(`coin-gateway.ts ${PORT_OF_PAGE}`);
    writeFileSync(join(cwd, 'proctor.config.ts'), config);
    cpSync(join(ROOT, 'docs/examples/counts.ts'), join(cwd, 'tasksets/counts.ts'));
    for (const start of ['npx proctor eval counts ', 'npx proctor eval compare coins ']) {
      const [, words = ''] =
        new RegExp(`^npx proctor (${start.slice('npx proctor '.length)}.*)$`, 'm').exec(read(PAGE)) ?? [];
      const { code, stdout, stderr } = await proctor(words.split(' '), { cwd });
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      const printed = stdout.trimEnd().split('\n').map(comparable);
      expect(printed).toEqual(outputBelow(words).map(comparable));
    }
  });
});
