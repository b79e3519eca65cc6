import { beforeAll, describe, expect, it } from 'vitest';
import type { EngineSandbox, FileContent } from '../../../src/environment/sandbox/engine.ts';
import { COPY, collect, file, inTime, MIB, run, type SandboxMaker, say, textOf } from './engine-fixture.ts';

const ODD_NAMES = ['a b', 'zwei\nZeilen', '-rf', 'Größe €😀', '"quoted"', '$HOME', "it's", 'back\\slash'];

export function describeFiles(made: () => SandboxMaker): void {
  describe('files', () => {
    let box: EngineSandbox;
    const list = async (path: string, most = 100) => await box.list(path, most, inTime());
    const get = async (path: string, limits = COPY) => await collect(box.get(path, limits, inTime()));
    const put = async (entries: readonly FileContent[], folder: string) => await box.put(entries, folder, inTime());
    beforeAll(async () => {
      box = await made().make();
    });

    it('begin with a workdir that is empty, and that programs can write', async () => {
      const other = await made().make({ workdir: '/project/of/mine' });
      expect(await other.list('/project/of/mine', 10, inTime())).toEqual([]);
      const { stdout } = await run(other, 'touch x && pwd && ls', { cwd: '/project/of/mine' });
      expect(stdout.endsWith('\nx\n')).toBe(true);
      if (!made().tested.isOpen) expect(stdout).toBe('/project/of/mine\nx\n');
      await other.stop();
    });

    it('are put with their modes and belong to the programs, in folders that are made', async () => {
      await put(
        [{ name: 'deep', type: 'folder', mode: 0o750 }, file('deep/run.sh', 'echo ran', 0o755)],
        '/workspace/new/er',
      );
      expect((await run(box, ['sh', 'new/er/deep/run.sh'])).stdout).toBe('ran\n');
      expect(await box.stat('/workspace/new/er/deep/run.sh', inTime())).toMatchObject({
        type: 'file',
        mode: 0o755,
        size: 8,
      });
      expect(await box.stat('/workspace/new/er/deep', inTime())).toMatchObject({ type: 'folder', mode: 0o750 });
      await say(box, 'echo more >> new/er/deep/run.sh && rm -r new');
    });

    it('replace files that exist', async () => {
      await put([file('twice', 'a long first text')], '/workspace');
      await put([file('twice', 'second')], '/workspace');
      expect(textOf((await get('/workspace/twice'))['.'])).toBe('second');
      await box.remove('/workspace/twice', inTime());
    });

    it('come as bytes, from 0 to several MiB', async () => {
      const large = Buffer.from(Array.from({ length: 256 }, (_, at) => at));
      const content = Buffer.concat(Array.from({ length: 12_000 }, () => large));
      await put([{ name: 'large', type: 'file', mode: 0o600, content }, file('empty', '')], '/workspace/bytes');
      const found = await get('/workspace/bytes');
      expect(Buffer.from(found.large?.content ?? []).equals(content)).toBe(true);
      expect(textOf(found.empty)).toBe('');
      expect((await say(box, 'wc -c < bytes/large')).trim()).toBe(String(content.length));
      await box.remove('/workspace/bytes', inTime());
    });

    it('have any name that a file can have', async () => {
      await put(
        ODD_NAMES.map((name) => file(name, name)),
        '/workspace/odd',
      );
      const names = (await list('/workspace/odd')).map(({ name }) => name);
      expect([...names].sort()).toEqual([...ODD_NAMES].sort());
      const found = await get('/workspace/odd');
      for (const name of ODD_NAMES) expect(textOf(found[name])).toBe(name);
      expect(await say(box, 'cat "odd/a b"; set -- odd/*; echo $#')).toBe(`a b${ODD_NAMES.length}`);
      for (const name of ODD_NAMES) await box.remove(`/workspace/odd/${name}`, inTime());
      expect(await list('/workspace/odd')).toEqual([]);
    });

    it('are listed one level deep with type, size and mode', async () => {
      await say(
        box,
        'mkdir -p kinds/sub && printf 123 > kinds/f && chmod 640 kinds/f && ln -s f kinds/l && mkfifo kinds/p',
      );
      const found = Object.fromEntries((await list('/workspace/kinds')).map((entry) => [entry.name, entry]));
      expect(Object.keys(found).sort()).toEqual(['f', 'l', 'p', 'sub']);
      expect(found.f).toMatchObject({ type: 'file', size: 3, mode: 0o640 });
      expect(found.sub).toMatchObject({ type: 'folder', size: 0 });
      expect(found.l).toMatchObject({ type: 'link' });
      expect(found.p).toMatchObject({ type: 'other' });
    });

    it('are told as missing, and a list of no folder is refused', async () => {
      expect(await box.stat('/workspace/nothing', inTime())).toBeUndefined();
      await expect(list('/workspace/nothing')).rejects.toThrow(RangeError);
      await expect(get('/workspace/nothing')).rejects.toThrow(RangeError);
      await say(box, 'touch a-file');
      await expect(list('/workspace/a-file')).rejects.toThrow(RangeError);
      await box.remove('/workspace/nothing', inTime());
    });

    it('are given as links, which nothing follows', async () => {
      await say(
        box,
        'mkdir -p links/in && ln -s /etc/passwd links/file && ln -s /etc links/folder && ln -s .. links/up',
      );
      expect(await box.stat('/workspace/links/file', inTime())).toMatchObject({ type: 'link' });
      const found = await get('/workspace/links');
      expect(found.file).toMatchObject({ type: 'link', target: '/etc/passwd' });
      expect(found.folder).toMatchObject({ type: 'link', target: '/etc' });
      expect(Object.keys(found).sort()).toEqual(['.', 'file', 'folder', 'in', 'up']);
      const { '.': asked } = await get('/workspace/links/file');
      expect(asked).toMatchObject({ type: 'link', target: '/etc/passwd' });
      await expect(list('/workspace/links/folder')).rejects.toThrow(RangeError);
    });

    it('are put beside links and never through them', async () => {
      await say(
        box,
        'mkdir -p through/target && ln -sfn /workspace/through/target through/folder && ln -sfn target/file through/link',
      );
      await put([file('link', 'new')], '/workspace/through');
      expect(await box.stat('/workspace/through/link', inTime())).toMatchObject({ type: 'file' });
      await put([file('folder/x', 'new')], '/workspace/through').catch((error) =>
        expect(error).toBeInstanceOf(RangeError),
      );
      await put([file('x', 'new')], '/workspace/through/folder').catch((error) =>
        expect(error).toBeInstanceOf(RangeError),
      );
      expect(await list('/workspace/through/target')).toEqual([]);
    });

    it('do not leave the folder that they are put into', async () => {
      for (const name of ['../outside', 'a/../../outside', '/workspace/outside']) {
        await expect(put([file(name, 'x')], '/workspace/kept')).rejects.toThrow(RangeError);
      }
      expect(await box.stat('/workspace/outside', inTime())).toBeUndefined();
    });

    it('include links that are put', async () => {
      await put([{ name: 'to', type: 'link', mode: 0o777, target: 'kinds/f' }], '/workspace');
      expect(await say(box, 'cat to')).toBe('123');
    });

    it('are refused beyond the limits of bytes, entries and depth', async () => {
      await say(box, 'mkdir -p many/a/b/c/d && head -c 100000 /dev/zero > many/large && touch many/1 many/2 many/3');
      await expect(get('/workspace/many', { ...COPY, maxBytes: 99_999 })).rejects.toThrow(RangeError);
      await expect(get('/workspace/many', { ...COPY, maxEntries: 4 })).rejects.toThrow(RangeError);
      await expect(get('/workspace/many', { ...COPY, maxDepth: 2 })).rejects.toThrow(RangeError);
      await expect(list('/workspace/many', 4)).rejects.toThrow(RangeError);
      await expect(get('/workspace/many/large', { ...COPY, maxBytes: 1 })).rejects.toThrow(RangeError);
      expect(Object.keys(await get('/workspace/many', { ...COPY, maxBytes: MIB }))).toHaveLength(9);
    });

    it('come parents first, and are passed over where they are no files', async () => {
      await say(box, 'mkdir -p order/a/b && touch order/a/b/c && mkfifo order/pipe');
      const names: string[] = [];
      for await (const { name } of box.get('/workspace/order', COPY, inTime())) names.push(name);
      expect(names).toEqual(['.', 'a', 'a/b', 'a/b/c']);
    });

    it('are removed with all that is in them, and links without what they lead to', async () => {
      await say(box, 'mkdir -p gone/a/b other && touch gone/a/b/c other/stays && ln -s ../other gone/link');
      await box.remove('/workspace/gone', inTime());
      expect(await box.stat('/workspace/gone', inTime())).toBeUndefined();
      expect(await box.stat('/workspace/other/stays', inTime())).toMatchObject({ type: 'file' });
    });

    it('that programs have closed to themselves are still read and removed by the harness', async () => {
      await say(box, 'mkdir -p closed/in && echo text > closed/in/f && chmod 000 closed/in/f closed/in closed');
      expect(textOf((await get('/workspace/closed'))['in/f'])).toBe('text\n');
      await box.remove('/workspace/closed', inTime());
      expect(await box.stat('/workspace/closed', inTime())).toBeUndefined();
    });
  });
}
