import { it } from 'vitest';
import { inMemory } from '../../src/mcp/in-memory.ts';
import { check } from './check.ts';

const files = import.meta.glob('../../templates/{blank,class,functional}/environments/*/environment.ts');
it.each(Object.keys(files))('%s', { timeout: 120_000 }, async (file) => {
  const { default: source } = (await files[file]?.()) as { default: never };
  const { findings } = await check(inMemory(source));
  console.log(
    file,
    findings.map((f) => `${f.level} ${f.finding} ${f.scenario}/${f.task} ${f.message}`),
  );
});
