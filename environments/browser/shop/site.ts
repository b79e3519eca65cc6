import { readFileSync } from 'node:fs';
import type { Reply, Site, SiteRequest } from '../chromium/own-origin-server.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { basketPage, type CheckoutForm, checkoutPage, EMPTY_CHECKOUT, orderPage } from './order-pages.ts';
import { COLOUR_RULES, homePage, productPage, productsPage } from './product-pages.ts';
import { DELIVERY_IDS, type Shop } from './shop.ts';

/**
 * The shop as a site: pages made on the server, forms that are posted, and nothing that tells more than a customer may
 * see. There is no route to the state by which an order is graded.
 *
 * @param shop the shop of the moment; a new scenario opens another one.
 */
export function createSite(shop: () => Shop): Site {
  return (request) => {
    const { method, url } = request;
    if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') return text(405, 'This shop takes GET and POST');
    if (method === 'POST') return POSTS.get(url.pathname)?.(shop(), request) ?? postProduct(shop(), request);
    const asset = ASSETS.get(url.pathname);
    if (asset !== undefined) return asset;
    return PAGES.get(url.pathname)?.(shop(), url.searchParams) ?? pageOfPath(shop(), url.pathname);
  };
}

type GetPage = (shop: Shop, query: URLSearchParams) => Reply;
type Post = (shop: Shop, request: SiteRequest) => Reply;

const PAGES: ReadonlyMap<string, GetPage> = new Map<string, GetPage>([
  ['/', (shop) => page(shop, 'Things for the house', homePage(shop.catalogue.products))],
  ['/products', products],
  ['/basket', (shop) => page(shop, 'Your basket', basketPage(shop.basket, []))],
  ['/checkout', checkout],
]);

const POSTS: ReadonlyMap<string, Post> = new Map<string, Post>([
  ['/basket', postBasket],
  ['/checkout', postCheckout],
]);

function products(shop: Shop, query: URLSearchParams): Reply {
  const words = (query.get('q') ?? '').trim();
  const category = query.get('category') ?? '';
  const order = query.get('sort') === 'price' ? 'price' : 'name';
  const content = productsPage(shop.catalogue.search(words, category, order), { words, category, order });
  return page(shop, 'Articles', content, { searched: words, category });
}

function pageOfPath(shop: Shop, path: string): Reply {
  const product = shop.catalogue.find(path.replace(/^\/products\//, ''));
  if (path.startsWith('/products/') && product !== undefined) {
    const form = {
      colour: product.colours.length === 1 ? (product.colours[0] ?? '') : '',
      quantity: '1',
      problems: [],
    };
    return page(shop, product.name, productPage(product, form), { category: product.category });
  }
  const order = shop.orders.find(({ number }) => path === `/orders/${number}`);
  if (order !== undefined) return page(shop, 'Thank you', orderPage(order));
  const content = html`<h1>This page does not exist</h1><p class="empty">Perhaps it has been sold. <a href="/">To the start of the shop</a>.</p>`;
  return { ...page(shop, 'Not found', content), status: 404 };
}

function checkout(shop: Shop): Reply {
  if (shop.basket.length === 0) return seeOther('/basket');
  return page(shop, 'Checkout', checkoutPage(shop.basket, EMPTY_CHECKOUT, []));
}

function postProduct(shop: Shop, { url, form }: SiteRequest): Reply {
  const product = shop.catalogue.find(url.pathname.replace(/^\/products\//, ''));
  if (product === undefined) return pageOfPath(shop, url.pathname);
  const colour = product.colours.find((each) => each === form.get('colour'));
  const quantity = form.get('quantity') ?? '';
  const problem = colour === undefined ? 'Please choose a colour.' : shop.add(product, colour, toQuantity(quantity));
  if (problem === undefined) return seeOther('/basket');
  const content = productPage(product, { colour: colour ?? '', quantity, problems: [problem] });
  return page(shop, product.name, content, { category: product.category });
}

function postBasket(shop: Shop, { form }: SiteRequest): Reply {
  const quantity = form.get('do') === 'remove' ? 0 : toQuantity(form.get('quantity') ?? '');
  const problem = shop.change(form.get('product') ?? '', form.get('colour') ?? '', quantity);
  return problem === undefined ? seeOther('/basket') : page(shop, 'Your basket', basketPage(shop.basket, [problem]));
}

function postCheckout(shop: Shop, { form }: SiteRequest): Reply {
  if (shop.basket.length === 0) return seeOther('/basket');
  const field = (name: string) => (form.get(name) ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 200);
  const given: CheckoutForm = {
    name: field('name'),
    street: field('street'),
    postcode: field('postcode'),
    city: field('city'),
    delivery: field('delivery'),
    isGift: form.get('gift') === 'yes',
    giftNote: field('gift_note'),
  };
  const delivery = DELIVERY_IDS.find((id) => id === given.delivery);
  const problems = problemsOf(given);
  if (problems.length > 0 || delivery === undefined) {
    return page(shop, 'Checkout', checkoutPage(shop.basket, given, problems));
  }
  const { name, street, postcode, city } = given;
  const note = given.isGift ? given.giftNote : '';
  const { number } = shop.order({ name, street, postcode, city }, delivery, note);
  return seeOther(`/orders/${number}`);
}

function problemsOf({ name, street, postcode, city, delivery, isGift, giftNote }: CheckoutForm): string[] {
  const missing = Object.entries({ 'Full name': name, 'Street and number': street, Postcode: postcode, City: city });
  return [
    ...missing.filter(([, value]) => value === '').map(([label]) => `${label} is missing.`),
    ...(DELIVERY_IDS.some((id) => id === delivery) ? [] : ['Please choose a delivery.']),
    ...(isGift && giftNote === '' ? ['What shall we write on the gift?'] : []),
    ...(!isGift && giftNote !== '' ? ['The note is for gifts: tick “Wrap as a gift”, or leave it empty.'] : []),
  ];
}

function toQuantity(text: string): number {
  return /^\d{1,4}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

/** The shop's own files alone, nothing in frames, no form to elsewhere: the first of the walls, on the page's side. */
const POLICY = "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'; object-src 'none'";

function page(shop: Shop, title: string, content: Html, more: { searched?: string; category?: string } = {}): Reply {
  const pieces = shop.basket.reduce((sum, { quantity }) => sum + quantity, 0);
  return {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
    },
    body: layout({ title, content, pieces, ...more }),
  };
}

function seeOther(path: string): Reply {
  return { status: 303, headers: { location: path }, body: '' };
}

function text(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

function asset(file: string, type: string, more = ''): Reply {
  const body = readFileSync(new URL(`./assets/${file}`, import.meta.url), 'utf8') + more;
  return { status: 200, headers: { 'content-type': type }, body };
}

const ASSETS: ReadonlyMap<string, Reply> = new Map([
  ['/style.css', asset('style.css', 'text/css; charset=utf-8', COLOUR_RULES)],
  ['/shop.js', asset('shop.js', 'text/javascript; charset=utf-8')],
  ['/icon.svg', asset('icon.svg', 'image/svg+xml')],
]);
