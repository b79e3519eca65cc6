import { describe, expect, it } from 'vitest';
import { keyFileOf } from '../../../src/store/database/key-file.ts';

const fileOf = (url: string) => keyFileOf(url, '/project');

describe('the key file of a database', () => {
  it('is .proctor/key for the default database, however it is named', () => {
    for (const path of ['.proctor/proctor.db', './.proctor/proctor.db', '/project/.proctor/proctor.db']) {
      expect(fileOf(`sqlite:${path}`)).toBe('.proctor/key');
    }
  });

  it('is one for each database, whoever signs in to it and with what options', () => {
    const file = fileOf('postgres://proctor:pass@db.example/runs');
    expect(file).toMatch(/^\.proctor\/keys\/postgres-db\.example-5432-runs-[0-9a-f]{8}$/);
    expect(fileOf('postgresql://other@db.example:5432/runs?sslmode=require')).toBe(file);
    expect(fileOf('postgres://localhost/runs')).toBe(fileOf('postgres://127.0.0.1:5432/runs'));
    const others = ['postgres://db.example/other', 'postgres://db.example:5433/runs', 'sqlite:a/b.db', 'sqlite:a-b.db'];
    expect(new Set([file, ...others.map(fileOf)]).size).toBe(5);
  });

  it('stays in its folder, and short, whatever the address is', () => {
    for (const url of [
      'sqlite:../../etc/passwd',
      `sqlite:${'x'.repeat(500)}`,
      'postgres://h/%2e%2e%2fx',
      'postgres://h/%',
    ]) {
      expect(fileOf(url)).toMatch(/^\.proctor\/keys\/[\w.-]{1,100}$/);
    }
  });
});
