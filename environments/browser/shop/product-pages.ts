import type { Product, SortOrder } from './catalogue.ts';
import { drawing } from './drawings.ts';
import { type Html, html } from './html.ts';
import { money, notice } from './layout.ts';
import { CATEGORIES, COLOURS, type ColourName } from './product-lines.ts';
import { MAX_QUANTITY } from './shop.ts';

export function homePage(products: readonly Product[]): Html {
  const doors = Object.entries(CATEGORIES).map(([id, { title, words }]) => {
    const product = products.find(({ category }) => category === id);
    return html`<a class="door" href="/products?category=${id}">${product && drawing(product.id, product.colours[0] ?? 'sand')}<span><strong>${title}</strong><small>${words}</small></span></a>`;
  });
  const best = [...products].sort((a, b) => b.rating - a.rating || a.name.localeCompare(b.name, 'en')).slice(0, 4);
  return html`<section class="hero"><div><h1>Things for the house that stay.</h1><p>Lamps, bowls, blankets and pots from small workshops, made to be mended.</p><p><a class="button" href="/products">See everything</a></p></div>${drawing('orla-table-lamp', 'clay')}${drawing('stilt-planter', 'moss')}${drawing('ronja-mug', 'ink')}</section>
<h2>Look around</h2><div class="doors">${doors}</div>
<h2>Liked by those who bought them</h2>${grid(best)}`;
}

export interface ProductQuery {
  readonly words: string;
  readonly category: string;
  readonly order: SortOrder;
}

export function productsPage(products: readonly Product[], { words, category, order }: ProductQuery): Html {
  const heading = headingOf(words, category);
  const sortLink = (to: SortOrder, name: string) => {
    const query = new URLSearchParams({ ...(words && { q: words }), ...(category && { category }), sort: to });
    return html`<a href="/products?${query.toString()}"${to === order ? html` aria-current="true"` : ''}>${name}</a>`;
  };
  const found =
    products.length === 0
      ? html`<p class="empty">Nothing fits. Try fewer words, or <a href="/products">see everything</a>.</p>`
      : grid(products);
  return html`<div class="list-head"><div><h1>${heading}</h1><p>${products.length} ${products.length === 1 ? 'article' : 'articles'}</p></div><p class="sort">Sort by ${sortLink('name', 'name')} ${sortLink('price', 'price')}</p></div>${found}`;
}

export interface ProductForm {
  readonly colour: string;
  readonly quantity: string;
  readonly problems: readonly string[];
}

export function productPage(product: Product, form: ProductForm): Html {
  const { category, colours, rating, reviews, stock } = product;
  const chosen = colours.find((colour) => colour === form.colour) ?? colours[0] ?? 'sand';
  const colourChoices = colours.map(
    (colour) =>
      html`<label class="swatch">${colourInput(colour, colour === form.colour)}<span class="dot c-${colour}"></span>${capital(colour)}</label>`,
  );
  const order =
    stock === 0
      ? html`<p class="sold-out">Sold out</p>`
      : html`<form class="order" method="post" action="/products/${product.id}"><fieldset><legend>Colour</legend><div class="swatches">${colourChoices}</div></fieldset><label class="quantity-label" for="quantity">Quantity</label><div class="stepper"><button type="button" data-step="-1" aria-label="One less">−</button><input id="quantity" name="quantity" type="number" min="1" max="${MAX_QUANTITY}" value="${form.quantity}"><button type="button" data-step="1" aria-label="One more">+</button></div><button class="button">Add to basket</button><p class="stock">In stock: ${stock} pieces</p></form>`;
  return html`<p class="crumbs"><a href="/">Home</a> / <a href="/products?category=${category}">${CATEGORIES[category].title}</a></p><article class="product"><div class="picture">${drawing(product.id, chosen)}</div><div><h1>${product.name}</h1><p class="rating"><span class="stars" aria-hidden="true">${'★'.repeat(Math.round(rating / 10))}<i>${'★'.repeat(5 - Math.round(rating / 10))}</i></span> Rated ${(rating / 10).toFixed(1)} of 5 by ${reviews} customers</p><p class="price">${money(product.price)}</p><p>${product.words}</p>${notice(form.problems)}${order}<dl><dt>Material</dt><dd>${product.material}</dd><dt>Weight</dt><dd>${product.weight} g</dd><dt>Article</dt><dd>${product.id}</dd></dl></div></article>`;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function colourInput(colour: ColourName, isChosen: boolean): Html {
  return html`<input type="radio" name="colour" value="${colour}" required${isChosen ? html` checked` : ''}>`;
}

function headingOf(words: string, category: string): string {
  const known = Object.entries(CATEGORIES).find(([id]) => id === category)?.[1].title ?? 'All articles';
  return words === '' ? known : `${known} for “${words}”`;
}

function grid(products: readonly Product[]): Html {
  const cards = products.map(
    ({ id, name, price, colours, stock }) =>
      html`<li><a class="card" href="/products/${id}">${drawing(id, colours[0] ?? 'sand')}<span class="name">${name}</span></a><p class="price">${money(price)}</p><p class="dots">${colours.map((colour) => html`<span class="dot c-${colour}" title="${capital(colour)}"></span>`)}${stock === 0 ? html`<em>Sold out</em>` : ''}</p></li>`,
  );
  return html`<ul class="grid">${cards}</ul>`;
}

/** The rules for the colours, beside the sheet: the page's policy allows no style in its elements. */
export const COLOUR_RULES = Object.entries(COLOURS)
  .map(([name, value]) => `.c-${name} { background: ${value}; }`)
  .join('\n');
