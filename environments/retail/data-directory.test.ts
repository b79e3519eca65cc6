import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DataDirectory, ownDataDirectory } from './desk/data-directory.ts';
import { compareFields } from './desk/differences.ts';
import { toRequest } from './desk/tasks.ts';

const directories: string[] = [];

/** A copy of the environment's own shop, with one file changed. */
function directoryWith(file: string, change: (text: string) => string): string {
  const directory = mkdtempSync(join(tmpdir(), 'retail-'));
  directories.push(directory);
  cpSync(ownDataDirectory, directory, { recursive: true });
  writeFileSync(join(directory, file), change(readFileSync(join(directory, file), 'utf8')));
  return directory;
}

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

describe('a data directory', () => {
  it('is read once in a process, and its records cannot be changed', () => {
    const directory = DataDirectory.open(ownDataDirectory);
    expect(DataDirectory.open(ownDataDirectory)).toBe(directory);
    expect(directory.records()).toBe(directory.records());
    const order = directory.records().orders.get('#H1001');
    expect(Object.isFrozen(order) && Object.isFrozen(order?.items) && Object.isFrozen(order?.items[0])).toBe(true);
  });

  it('keeps the optional fields of an order that has them already', () => {
    const directory = directoryWith('db.json', (text) =>
      text.replace('"status": "cancelled",', '"status": "cancelled", "cancel_reason": "no longer needed",'),
    );
    const order = DataDirectory.open(directory).records().orders.get('#H1002');
    expect(order).toMatchObject({ cancel_reason: 'no longer needed', return_items: null });
  });

  it('that does not exist is refused by name, with the variable that names it', () => {
    const directory = DataDirectory.open('/no/such/directory');
    expect(() => directory.policy()).toThrow(/policy\.md.*\/no\/such\/directory.*RETAIL_DATA.*ENOENT/s);
    expect(() => directory.tasks()).toThrow('tasks.json');
    expect(() => directory.records()).toThrow('db.json');
  });

  it.each([
    ['db.json', () => '{', 'JSON'],
    ['db.json', (text: string) => text.replace('"price": 34.9', '"price": "34.9"'), 'price'],
    ['db.json', (text: string) => text.replace('"source": "paypal"', '"source": "cheque"'), 'payment_methods'],
    [
      'db.json',
      (text: string) => text.replace('"order_id": "#H1001"', '"order_id": "#H1"'),
      "'#H1001' has the id '#H1'",
    ],
    ['tasks.json', () => '[]', '>=1'],
    ['tasks.json', (text: string) => text.replace('"reason_for_call"', '"reason"'), 'reason_for_call'],
  ])('is refused for a %s that is not of its shape, saying where', (file, change, said) => {
    const directory = DataDirectory.open(directoryWith(file, change));
    expect(() => (file === 'db.json' ? directory.records() : directory.tasks())).toThrow(said);
  });

  it('takes tasks whose lists are null or absent', () => {
    const directory = directoryWith('tasks.json', () =>
      JSON.stringify([
        {
          id: '1',
          user_scenario: { instructions: { reason_for_call: 'You want nothing.', known_info: null } },
          evaluation_criteria: { actions: null },
        },
      ]),
    );
    const task = DataDirectory.open(directory).tasks().get('1');
    expect(task?.evaluation_criteria).toEqual({
      actions: [],
      nl_assertions: [],
      communicate_info: [],
      reward_basis: ['DB', 'NL_ASSERTION'],
    });
    expect(task && toRequest(task)).toMatch(/You want nothing\.$/);
  });
});

describe('comparing fields', () => {
  it.each([
    [0, -0, []],
    [0.1 + 0.2, 0.3, [{ field: 'x', expected: 0.1 + 0.2, actual: 0.3 }]],
    ['1', 1, [{ field: 'x', expected: '1', actual: 1 }]],
    [null, {}, [{ field: 'x', expected: null, actual: {} }]],
    [[], {}, [{ field: 'x', expected: [], actual: {} }]],
    [
      ['a', 'b'],
      ['b', 'a'],
      [
        { field: 'x.0', expected: 'a', actual: 'b' },
        { field: 'x.1', expected: 'b', actual: 'a' },
      ],
    ],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
    [{ a: null }, {}, [{ field: 'x.a', expected: null }]],
    [{}, { a: null }, [{ field: 'x.a', actual: null }]],
    [{ toString: 1 }, {}, [{ field: 'x.toString', expected: 1 }]],
  ])('of %j and %j gives the values that differ', (expected, actual, differences) => {
    expect(compareFields({ x: expected }, { x: actual })).toEqual(differences);
  });
});
