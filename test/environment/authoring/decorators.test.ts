import * as proctor from 'proctor';
import {
  close,
  EnvironmentServer,
  Hub,
  initialize,
  prompt,
  resource,
  type ScenarioGenerator,
  scenario,
  shutdown,
  tool,
} from 'proctor';
import { transformWithEsbuild } from 'vite';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { callTool, contextOf, definitionOf, startScenario } from './fixtures.ts';

const Add = z.object({ by: z.number().default(1) });

class Counter extends EnvironmentServer {
  readonly events: string[] = [];
  count = 0;

  constructor(name = 'counter') {
    super({ name });
  }

  @tool({ description: 'Adds.', args: Add })
  add({ by }: z.output<typeof Add>) {
    this.count += by;
    return this.count;
  }

  @tool({ name: 'read_it' })
  read() {
    return this.count;
  }

  @scenario({ name: 'count_to', args: { target: z.number() } })
  async *countTo({ target }: { target: number }): ScenarioGenerator {
    this.count = 0;
    yield `Count to ${target}.`;
    return this.count === target;
  }

  @initialize
  begin() {
    this.events.push('initialized');
  }

  @shutdown
  async stop() {
    this.events.push('shut down');
  }

  @close
  end() {
    this.events.push('closed');
  }

  @resource('counter://{name}')
  show({ name }: { name: string }) {
    return `${name}: ${this.count}`;
  }

  @prompt({ args: { to: z.number() } })
  please({ to }: { to: number }) {
    return `Count to ${to}, please.`;
  }
}

describe('the decorators', () => {
  it('register what the calls register', async () => {
    const counter = new Counter();
    const { tools, scenarios, resources, prompts, initializeHooks, shutdownHooks, closeHooks } = definitionOf(counter);
    expect([...tools.keys()]).toEqual(['add', 'read_it']);
    expect(tools.get('add')?.description).toBe('Adds.');
    expect([...scenarios.keys()]).toEqual(['count_to']);
    expect(await callTool(counter, 'add', {})).toBe(1);
    expect(await callTool(counter, 'read_it')).toBe(1);
    const run = await startScenario(counter, 'count_to', { target: 2 });
    expect(await run.prompt()).toEqual([{ role: 'user', content: 'Count to 2.' }]);
    await callTool(counter, 'add', { by: 2 });
    expect(await run.evaluate('')).toMatchObject({ reward: 1 });
    expect(await resources.get('counter://{name}')?.read({ name: 'c' }, contextOf())).toBe('c: 2');
    expect(await prompts.get('please')?.get({ to: '3' }, contextOf())).toBe('Count to 3, please.');
    for (const hook of initializeHooks) await (hook as () => void)();
    for (const hook of [...shutdownHooks, ...closeHooks]) await hook();
    expect(counter.events).toEqual(['initialized', 'shut down', 'closed']);
  });

  it('register on each instance by itself', async () => {
    const [one, other] = [new Counter(), new Counter()];
    await callTool(one, 'add', { by: 5 });
    expect(await callTool(other, 'read_it')).toBe(0);
    expect(definitionOf(one).tools.get('add')).not.toBe(definitionOf(other).tools.get('add'));
  });

  it('call the method that a subclass overrides theirs with', async () => {
    class Doubling extends Counter {
      override add({ by }: z.output<typeof Add>) {
        return super.add({ by: by * 2 });
      }
    }
    const doubling = new Doubling();
    expect(await callTool(doubling, 'add', { by: 3 })).toBe(6);
    expect(definitionOf(doubling).tools.size).toBe(2);
    expect(await callTool(new Counter(), 'add', { by: 3 })).toBe(3);
  });

  it('let a subclass decorate an overriding method again', async () => {
    class Described extends Counter {
      @tool({ description: 'Adds twice.', args: Add })
      override add({ by }: z.output<typeof Add>) {
        return super.add({ by: by * 2 });
      }

      @tool({})
      more() {
        return 'more';
      }
    }
    const described = new Described();
    expect([...definitionOf(described).tools.keys()].sort()).toEqual(['add', 'more', 'read_it']);
    expect(definitionOf(described).tools.get('add')?.description).toBe('Adds twice.');
    expect(await callTool(described, 'add', { by: 3 })).toBe(6);
  });

  it('make functions of a hub too', () => {
    class Grader extends Hub {
      constructor() {
        super('grader', { audience: 'harness' });
      }

      @tool({})
      grade() {
        return 1;
      }
    }
    const environment = new EnvironmentServer({ name: 'exam' }).mount(new Grader());
    expect([...(definitionOf(environment).hubs.get('grader')?.tools.keys() ?? [])]).toEqual(['grade']);
  });

  it('refuse two tools of one name when an instance is made', () => {
    class Twice extends Counter {
      @tool({ name: 'add' })
      again() {
        return 1;
      }
    }
    expect(() => new Twice()).toThrow('already has a tool named "add"');
  });

  it('under experimentalDecorators are an error that names the setting', async () => {
    const source = `const { EnvironmentServer, tool } = proctor;
      class Old extends EnvironmentServer { @tool({}) read() { return 1; } }`;
    const { code } = await transformWithEsbuild(source, 'old.ts', {
      target: 'es2022',
      tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    });
    expect(() => new Function('proctor', code)(proctor)).toThrow(
      '@tool is a standard decorator: remove "experimentalDecorators"',
    );
  });

  it('on a static or a private method are an error', async () => {
    for (const method of ['static read() {}', '#read() {}']) {
      const source = `class Wrong extends proctor.EnvironmentServer { @proctor.tool({}) ${method} }`;
      const { code } = await transformWithEsbuild(source, 'wrong.ts', { target: 'es2022' });
      expect(() => new Function('proctor', code)(proctor)).toThrow('belongs on a public method that is not static');
    }
  });
});
