import { afterAll, beforeAll, describe } from 'vitest';
import { describeFiles } from './engine-files.ts';
import { type EngineUnderTest, SandboxMaker } from './engine-fixture.ts';
import { describeLives } from './engine-lives.ts';
import { describePrograms } from './engine-programs.ts';

/**
 * The contract of an engine, in sentences. Every engine passes them. `open` starts or finds the engine; the suite closes
 * it at the end.
 */
export function describeEngine(name: string, open: () => Promise<EngineUnderTest>): void {
  describe(`the engine ${name}`, { timeout: 120_000 }, () => {
    let maker: SandboxMaker | undefined;
    const made = () => {
      if (maker === undefined) throw new Error('The engine is not open');
      return maker;
    };
    beforeAll(async () => {
      maker = new SandboxMaker(await open());
    }, 120_000);
    afterAll(async () => {
      await maker?.close();
      await maker?.tested.close();
    }, 120_000);

    describePrograms(made);
    describeFiles(made);
    describeLives(made);
  });
}
