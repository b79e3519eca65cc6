import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contextOf, definitionOf } from './fixtures.ts';

const newEnvironment = () => new EnvironmentServer({ name: 'library' });

describe('a resource', () => {
  it('stands under <scheme>://<name>, is the agent’s by default, and is read by its handler', async () => {
    const environment = newEnvironment().resource('notes://today', { mimeType: 'text/plain' }, () => 'Rain.');
    const resource = definitionOf(environment).resources.get('notes://today');
    expect(resource).toMatchObject({
      uri: 'notes://today',
      isTemplate: false,
      name: 'today',
      audience: 'agent',
      mimeType: 'text/plain',
    });
    expect(await resource?.read({}, contextOf())).toBe('Rain.');
  });

  it('with {variables} is a template, and its handler gets them', async () => {
    const environment = newEnvironment().resource(
      'notes://{folder}/{id}',
      { name: 'note', audience: 'harness' },
      ({ folder, id }) => `${folder}:${id}`,
    );
    const resource = definitionOf(environment).resources.get('notes://{folder}/{id}');
    expect(resource).toMatchObject({ isTemplate: true, name: 'note', audience: 'harness' });
    expect(await resource?.read({ folder: 'a', id: '7' }, contextOf())).toBe('a:7');
  });

  it.each([
    ['today', '<scheme>://<name>'],
    ['notes://', '<scheme>://<name>'],
    ['notes://a b', '<scheme>://<name>'],
    ['notes://{+path}', 'a template has variables such as {id}'],
    ['notes://{id', 'a template has variables such as {id}'],
    ['notes://{id}/{id}', 'the variable {id} is there twice'],
  ])('cannot be %s', (uri, message) => {
    expect(() => newEnvironment().resource(uri, {}, () => '')).toThrow(message);
  });

  it('that is a duplicate, or has a URI of our own, is refused by name', () => {
    const environment = newEnvironment()
      .mount(new Hub('setup'))
      .resource('notes://today', {}, () => '');
    for (const uri of ['notes://today', 'svc://scenarios', 'setup://functions']) {
      expect(() => environment.resource(uri, {}, () => '')).toThrow(`already has a resource named "${uri}"`);
    }
    const before = newEnvironment().resource('setup://functions', {}, () => '');
    expect(() => before.mount(new Hub('setup'))).toThrow('already has a resource named "setup://functions"');
  });
});

describe('a prompt', () => {
  const environment = newEnvironment().prompt(
    'summarise',
    { description: 'Sums up.', args: { topic: z.string().describe('Of what.'), words: z.number().default(50) } },
    ({ topic, words }) => `Sum up ${topic} in ${words + 0} words.`,
  );
  const prompt = definitionOf(environment).prompts.get('summarise');

  it('lists its arguments', () => {
    expect(prompt).toMatchObject({
      name: 'summarise',
      description: 'Sums up.',
      audience: 'agent',
      arguments: [
        { name: 'topic', description: 'Of what.', required: true },
        { name: 'words', description: undefined, required: false },
      ],
    });
  });

  it('reads the text of its arguments by its schema', async () => {
    expect(await prompt?.get({ topic: 'rain', words: '20' }, contextOf())).toBe('Sum up rain in 20 words.');
    expect(await prompt?.get({ topic: '7' }, contextOf())).toBe('Sum up 7 in 50 words.');
  });

  it('refuses bad arguments by name', async () => {
    await expect(prompt?.get({ words: 'many', by: 'me' }, contextOf())).rejects.toMatchObject({
      name: 'InvalidArgumentsError',
      message:
        'Prompt "summarise": by: is not an argument that exists; topic: is required; words: expected number, got "many"',
    });
  });

  it('that is a duplicate is refused by name', () => {
    expect(() => environment.prompt('summarise', {}, () => '')).toThrow('already has a prompt named "summarise"');
  });
});
