import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import {
  environmentDefinition,
  instantiateEnvironment,
} from '../../../src/environment/authoring/environment-source.ts';

class Shop extends EnvironmentServer {
  constructor() {
    super({ name: 'shop' });
  }
}

describe('what a module exports by default', () => {
  it.each([
    ['a class', Shop],
    ['a factory', () => new Shop()],
    ['a factory that is a function', () => new EnvironmentServer({ name: 'shop' })],
  ])('may be %s: an instance for each session', (_kind, source) => {
    const [one, other] = [instantiateEnvironment(source), instantiateEnvironment(source)];
    expect(one.definition.name).toBe('shop');
    expect(one.isShared).toBe(false);
    expect(one.definition).not.toBe(other.definition);
  });

  it('may be an instance: shared by every session', () => {
    const shop = new Shop();
    const [one, other] = [instantiateEnvironment(shop), instantiateEnvironment(shop)];
    expect(one.isShared).toBe(true);
    expect(one.definition).toBe(other.definition);
  });

  it('is recognised when it comes from another copy of the package', () => {
    const definition = environmentDefinition(new Shop());
    class OfAnotherCopy {
      get [Symbol.for('proctor.environment')]() {
        return definition;
      }
    }
    expect(instantiateEnvironment(OfAnotherCopy).definition).toBe(definition);
    expect(instantiateEnvironment(new OfAnotherCopy()).isShared).toBe(true);
  });

  it.each([
    [undefined, 'found nothing'],
    [null, 'found null'],
    ['shop', 'found "shop"'],
    [{ Shop }, 'found an object with the keys ["Shop"]'],
    [class Plain {}, 'found the class Plain, which does not extend it'],
    [() => 1, 'found a function that returns 1'],
    [() => {}, 'found a function that returns nothing'],
    [() => Shop, 'found a function that returns the function Shop'],
    [async () => new Shop(), 'what takes time belongs in the initialize hook'],
  ])('that is unusable is an error which says what to export', (source, found) => {
    expect(() => instantiateEnvironment(source)).toThrow(found);
    expect(() => instantiateEnvironment(source)).toThrow(
      'a class that extends EnvironmentServer, a function that returns one',
    );
  });

  it('passes on what the author’s constructor throws', () => {
    class Broken extends EnvironmentServer {
      constructor() {
        super({ name: 'broken' });
        throw new Error('no licence');
      }
    }
    expect(() => instantiateEnvironment(Broken)).toThrow('no licence');
  });
});
