import { type Html, type HtmlValue, html } from './html.ts';
import { CATEGORIES } from './product-lines.ts';

export interface Page {
  readonly title: string;
  readonly content: Html;
  /** Pieces in the basket. */
  readonly pieces: number;
  /** What stands in the search field. */
  readonly searched?: string;
  /** The part of the shop that the page is in. */
  readonly category?: string;
}

/** The whole document. */
export function layout({ title, content, pieces, searched = '', category = '' }: Page): string {
  const categories = Object.entries(CATEGORIES).map(
    ([id, { title: name }]) =>
      html`<a href="/products?category=${id}"${id === category ? html` aria-current="page"` : ''}>${name}</a>`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Larkfield</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/style.css">
<script src="/shop.js" defer></script>
</head>
<body>
<header class="top">
<div class="bar">
<a class="brand" href="/">Larkfield</a>
<form class="search" action="/products" role="search"><input type="search" name="q" value="${searched}" placeholder="Search the shop" aria-label="Search the shop" maxlength="100"><button>Search</button></form>
<a class="basket-link" href="/basket">Basket <span class="count">${pieces}</span></a>
</div>
<nav class="categories" aria-label="Categories">${categories}</nav>
</header>
<main>${content}</main>
<footer class="bottom"><p>Larkfield, things for the house. Prices in euros with tax.</p><p>Returns within 30 days. Pick up in the shop: Monday to Saturday, 10 to 18.</p></footer>
</body>
</html>
`.text;
}

/** `64.50` of 6450 cents. */
export function money(cents: number): string {
  return `€ ${(cents / 100).toFixed(2)}`;
}

/** A message above a form or a list. */
export function notice(problems: readonly string[]): HtmlValue {
  if (problems.length === 0) return undefined;
  return html`<div class="notice" role="alert">${problems.map((problem) => html`<p>${problem}</p>`)}</div>`;
}
