import { inMemory } from 'proctor';
import { connectEnvironment, type EnvironmentClient, type ToolResult } from 'proctor/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from './chromium/find-chromium.ts';
import { toViewport } from './chromium/viewport.ts';
import BrowserEnvironment from './environment.ts';
import { Catalogue } from './shop/catalogue.ts';
import { CATEGORIES } from './shop/product-lines.ts';
import { describeWithChromium } from './test-chromium.ts';

const describeBrowser = describeWithChromium('environments/browser/environment.test.ts');

const connect = (meta = {}) => connectEnvironment(inMemory(BrowserEnvironment), { meta });

function textOf({ content }: ToolResult): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** Width and height of the PNG that a result has, by its own header. */
function sizeOf({ content }: ToolResult): readonly [number, number] {
  const picture = content.find((block) => block.type === 'image');
  const bytes = Buffer.from(String(picture?.data), 'base64');
  expect([picture?.mimeType, bytes.toString('latin1', 1, 4)]).toEqual(['image/png', 'PNG']);
  return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
}

describe('the search for Chromium', () => {
  it('fails with the way out, by the name of its variable and of the package', () => {
    expect(() => findChromium({ PROCTOR_CHROMIUM: '/nowhere/chromium' })).toThrow(
      /PROCTOR_CHROMIUM names "\/nowhere\/chromium".*apt-get install chromium/,
    );
  });
});

describe('the display', () => {
  it('is refused where no page fits it', () => {
    expect(toViewport(1024.4, 768)).toEqual({ width: 1024, height: 768 });
    expect(() => toViewport(100, 768)).toThrow('display_width has to be 320 to 3840 pixels, got 100');
    expect(() => toViewport(1024, 100_000)).toThrow('display_height has to be 240 to 2160 pixels, got 100000');
  });
});

describe('the catalogue', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(new Catalogue(7).products).toEqual(new Catalogue(7).products);
    expect(new Catalogue(7).products).not.toEqual(new Catalogue(8).products);
  });

  it('has, whatever the seed, a well rated product in stock in each category, and no price twice there', () => {
    for (let seed = 0; seed < 500; seed += 1) {
      for (const category of Object.keys(CATEGORIES)) {
        const products = new Catalogue(seed).search('', category, 'price');
        expect(products.some(({ stock, rating }) => stock > 0 && rating >= 45)).toBe(true);
        expect(new Set(products.map(({ price }) => price)).size).toBe(products.length);
      }
    }
  });
});

describeBrowser('the display of a session', () => {
  it('is 1920 by 1080 where the client says nothing', async () => {
    const client = await connect();
    expect(sizeOf(await client.call('screenshot', {}))).toEqual([1920, 1080]);
    await client.close();
  });
});

describeBrowser('the browser environment', () => {
  let client: EnvironmentClient;
  const call = (name: string, args = {}) => client.call(name, args);
  const read = async () => textOf(await call('read_page'));

  beforeAll(async () => {
    client = await connect({ display_width: 1280, display_height: 800 });
  });
  afterAll(() => client?.close());

  it('offers eight tools and two scenarios', async () => {
    expect((await client.tools()).map(({ name }) => name)).toEqual([
      'screenshot',
      'read_page',
      'goto',
      'click',
      'type_text',
      'press_key',
      'scroll',
      'back',
    ]);
    expect((await client.scenarios()).map(({ name, required_args }) => [name, required_args])).toEqual([
      ['browser:buy', ['product']],
      ['browser:find', ['category']],
    ]);
  });

  it('shows the shop in pictures of the size that the client has given, with any action that is asked for one', async () => {
    expect(sizeOf(await call('screenshot'))).toEqual([1280, 800]);
    const opened = await call('goto', { address: '/products/ronja-mug', screenshot: true });
    expect(textOf(opened)).toBe('Opened. The page is /products/ronja-mug ("Ronja Mug · Larkfield").');
    expect(sizeOf(opened)).toEqual([1280, 800]);
    expect((await call('scroll', {})).content).toHaveLength(1);
  });

  it('can be used by text alone: what can be acted on has a reference, which holds until the page changes', async () => {
    await call('goto', { address: '/products?category=lamps' });
    const list = await read();
    const link = /link "Halden Desk Lamp" \[ref=(\w+)\]/.exec(list)?.[1];
    expect(textOf(await call('click', { target: link }))).toContain('The page is /products/halden-desk-lamp');
    const stale = await call('click', { target: link });
    expect([stale.is_error, textOf(stale)]).toEqual([true, expect.stringContaining('Use read_page again')]);
    const field = /spinbutton "Quantity" \[ref=(\w+)\]/.exec(await read())?.[1];
    await call('type_text', { target: field, text: '4' });
    expect(await read()).toMatch(/spinbutton "Quantity" .*: "4"/);
  });

  it('can be used by sight alone: a click at a point, typing where the cursor is, keys, scrolling, going back', async () => {
    await call('goto', { address: '/' });
    await call('click', { x: 500, y: 40 });
    await call('type_text', { text: 'willow' });
    expect(textOf(await call('press_key', { key: 'Enter' }))).toContain('/products?q=willow');
    expect(await read()).toContain('Osier Basket');
    expect(textOf(await call('back'))).toMatch(/^Went back\. The page is \/ /);
    expect(textOf(await call('scroll', { pixels: 300 }))).toMatch(/^Scrolled to 300 of \d+ pixels/);
    expect(textOf(await call('scroll', { direction: 'up', pixels: 9_000 }))).toMatch(/^Scrolled to 0 of/);
  });

  it.each([
    ['click', { target: 'Buy the moon' }, 'No thing shows "Buy the moon"'],
    ['click', { target: 'Sold' }, 'things show'],
    ['click', { x: 10 }, 'either target, or x and y'],
    ['click', { target: 'Lamps', x: 1, y: 1 }, 'either target, or x and y'],
    ['click', { x: 1280, y: 10 }, 'outside of the screenshot, which is 1280 by 800'],
    ['type_text', { target: 'Lamps', text: 'x' }, 'No field is labelled "Lamps"'],
    ['press_key', { key: 'F12' }, 'key'],
    ['scroll', { pixels: -4 }, 'pixels'],
  ])('refuses %s %j in words that help', async (name, args, words) => {
    await call('goto', { address: '/products' });
    const result = await call(name, args);
    expect([result.is_error, textOf(result)]).toEqual([true, expect.stringContaining(words)]);
  });

  it.each([
    'http://127.0.0.1:1/',
    'http://localhost/',
    'https://example.com/',
    '//127.0.0.2/',
    'file:///etc/passwd',
    'data:text/html,hello',
    'view-source:http://127.0.0.1/',
    'chrome://version',
    'javascript:alert(1)',
  ])('opens no other address: %s', async (address) => {
    await call('goto', { address: '/basket' });
    const result = await call('goto', { address });
    expect([result.is_error, textOf(result)]).toEqual([true, expect.stringContaining('is refused')]);
    expect(await read()).toContain('/basket: Your basket');
  });

  it.each([
    '/orders',
    '/orders/LF-10000',
    '/state',
    '/admin',
    '/api/orders',
    '/shop/shop.ts',
    '/products/../environment.ts',
  ])('has nothing to tell at %s', async (address) => {
    await call('goto', { address });
    expect(await read()).toContain('This page does not exist');
  });

  it('leaves a call that is aborted, and goes on', async () => {
    const abort = new AbortController();
    const aborted = client.call('goto', { address: '/products' }, { signal: abort.signal });
    const rejected = expect(aborted).rejects.toThrow('enough');
    abort.abort(new Error('enough'));
    await rejected;
    expect(textOf(await call('goto', { address: '/basket' }))).toContain('/basket');
  });

  describe('the scenario buy', () => {
    const asked = {
      product: 'ronja-mug',
      colour: 'ink',
      quantity: 3,
      delivery: 'express',
      gift_note: 'For <Ida> & co',
    };

    /** Orders, in few steps, what is asked for but for the changes. */
    const order = async (changes: { product?: string; quantity?: string; delivery?: string; name?: string } = {}) => {
      await call('goto', { address: `/products/${changes.product ?? 'ronja-mug'}` });
      await call('click', { target: 'Ink' });
      await call('type_text', { target: 'Quantity', text: changes.quantity ?? '3' });
      await call('click', { target: 'Add to basket' });
      await call('goto', { address: '/checkout' });
      const fields = {
        'Full name': changes.name ?? 'ada  bellweather',
        'Street and number': 'Mill Lane 4',
        Postcode: '4821',
        City: 'Eastmere',
      };
      for (const [target, text] of Object.entries(fields)) await call('type_text', { target, text });
      await call('click', { target: changes.delivery ?? 'Express delivery' });
      await call('click', { target: 'Wrap as a gift' });
      await call('type_text', { target: 'Note on the gift', text: 'For <Ida> & co' });
      expect(textOf(await call('click', { target: 'Place order' }))).toContain('/orders/LF-');
    };

    it.each([
      { product: 'halden-desk-lamp' },
      asked,
      { product: 'cove-planter', delivery: 'pickup', seed: 4, quantity: 10, name: 'O\'Neill "Bo" Äß' },
    ])('gives its own solution of %j a reward of 1', async (args) => {
      expect(await solve('buy', args)).toMatchObject({ reward: 1, content: 'The order is as it was asked for.' });
    });

    it('gives doing nothing no reward, nor a basket that was not ordered, and starts with an empty one', async () => {
      await client.setup('buy', asked);
      await call('goto', { address: '/products/ronja-mug' });
      await call('click', { target: 'Ink' });
      await call('click', { target: 'Add to basket' });
      expect(await client.evaluate('buy', 'Done.')).toMatchObject({ reward: 0, content: 'No order was placed.' });
      const { prompt } = await client.setup('buy', asked);
      expect(JSON.stringify(prompt)).toContain('3 × Ronja Mug in ink');
      await call('goto', { address: '/basket' });
      expect(await read()).toContain('There is nothing in it yet');
      expect(await client.evaluate('buy', '')).toMatchObject({ reward: 0 });
    });

    it('gives the order of another product no reward', async () => {
      await client.setup('buy', asked);
      await order({ product: 'ronja-bowl' });
      expect(await client.evaluate('buy', '')).toMatchObject({ reward: 0, content: 'No order has Ronja Mug.' });
    });

    it('gives an order that is right in part a part, and says what is wrong', async () => {
      await client.setup('buy', asked);
      await order({ quantity: '2', delivery: 'Standard delivery', name: 'Ida' });
      const { reward, content } = await client.evaluate('buy', '');
      expect([reward, content]).toEqual([5 / 8, 'Not as it was asked for: quantity, delivery, address.']);
    });

    it('gives two orders in place of one less than 1', async () => {
      await client.setup('buy', asked);
      await order();
      await order();
      const { reward, content } = await client.evaluate('buy', '');
      expect([reward, content]).toEqual([7 / 8, 'Not as it was asked for: placed_once.']);
    });

    it('refuses what the shop does not have, by name', async () => {
      await expect(client.setup('buy', { product: 'moon' })).rejects.toThrow('product');
      await expect(client.setup('buy', { product: 'ronja-bowl', colour: 'plum' })).rejects.toThrow(
        'colour: Ronja Bowl does not come in plum',
      );
      await expect(client.setup('buy', { product: 'ronja-mug', quantity: 0 })).rejects.toThrow('quantity');
      await expect(client.setup('buy', { product: 'bell-hanging-pot', seed: 1 })).rejects.toThrow('sold out');
    });
  });

  describe('the scenario find', () => {
    it.each([{ category: 'lamps' }, { category: 'storage', min_rating: 4.5, seed: 12 }])(
      'gives its own solution of %j a reward of 1',
      async (args) => {
        expect(await solve('find', args)).toMatchObject({ reward: 1 });
      },
    );

    it('gives an empty answer and a wrong one no reward, and the right product at a wrong price half', async () => {
      const args = { category: 'lamps' };
      const judge = async (answer: unknown) => {
        await client.setup('find', args);
        return client.evaluate('find', answer);
      };
      const { product, price } = (await judge({ product: '', price: 0 })).info;
      expect(await judge('')).toMatchObject({ reward: 0, is_error: true });
      expect(await judge({ product: 'Tove Reading Lamp', price })).toMatchObject({ reward: 0 });
      expect(await judge({ product, price: 1 })).toMatchObject({ reward: 0.5 });
      expect(await judge({ product, price })).toMatchObject({ reward: 1 });
    });
  });

  /** Plays the scenario's own solution, call by call. */
  async function solve(scenario: string, args: Record<string, string | number>) {
    await client.setup(scenario, args);
    const results: ToolResult[] = [];
    for (;;) {
      const { calls, answer, done } = await client.solution(scenario, args, results);
      if (done) return client.evaluate(scenario, answer);
      for (const { name, arguments: given } of calls) results.push(await client.call(name, given));
    }
  }
});
