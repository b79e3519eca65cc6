import { drawing } from './drawings.ts';
import { type Html, html } from './html.ts';
import { money, notice } from './layout.ts';
import { capital } from './product-pages.ts';
import { DELIVERIES, DELIVERY_IDS, type Line, MAX_QUANTITY, type Order, totalOf } from './shop.ts';

export function basketPage(lines: readonly Line[], problems: readonly string[]): Html {
  if (lines.length === 0) {
    return html`<h1>Your basket</h1>${notice(problems)}<p class="empty">There is nothing in it yet. <a href="/products">See everything</a>.</p>`;
  }
  const rows = lines.map(
    ({ product, colour, quantity }) =>
      html`<li class="line">${drawing(product.id, colour)}<div><a href="/products/${product.id}"><strong>${product.name}</strong></a><p>${capital(colour)} · ${money(product.price)} each</p></div><form method="post" action="/basket"><input type="hidden" name="product" value="${product.id}"><input type="hidden" name="colour" value="${colour}"><input name="quantity" type="number" min="0" max="${MAX_QUANTITY}" value="${quantity}" aria-label="Quantity of ${product.name}"><button name="do" value="update">Update</button><button class="quiet" name="do" value="remove" aria-label="Remove ${product.name}">Remove</button></form><p class="price">${money(product.price * quantity)}</p></li>`,
  );
  return html`<h1>Your basket</h1>${notice(problems)}<ul class="lines">${rows}</ul><div class="sum"><p>Sum <strong>${money(totalOf(lines))}</strong></p><p class="small">Delivery is chosen at the checkout.</p><a class="button" href="/checkout">Go to checkout</a></div>`;
}

/** What a customer has written into the checkout's form. */
export interface CheckoutForm {
  readonly name: string;
  readonly street: string;
  readonly postcode: string;
  readonly city: string;
  readonly delivery: string;
  readonly isGift: boolean;
  readonly giftNote: string;
}

export const EMPTY_CHECKOUT: CheckoutForm = {
  name: '',
  street: '',
  postcode: '',
  city: '',
  delivery: 'standard',
  isGift: false,
  giftNote: '',
};

export function checkoutPage(lines: readonly Line[], form: CheckoutForm, problems: readonly string[]): Html {
  const field = (name: 'name' | 'street' | 'postcode' | 'city', label: string) =>
    html`<label class="field f-${name}">${label}<input name="${name}" value="${form[name]}" maxlength="100" autocomplete="off"></label>`;
  const deliveries = DELIVERY_IDS.map((id) => {
    const { title, words, price } = DELIVERIES[id];
    const checked = id === form.delivery ? html` checked` : '';
    return html`<label class="choice"><input type="radio" name="delivery" value="${id}" data-price="${price}" aria-label="${title}"${checked}><span><strong>${title}</strong><small>${words}</small></span><span class="price">${money(price)}</span></label>`;
  });
  const sum = totalOf(lines);
  const chosen = DELIVERY_IDS.find((id) => id === form.delivery);
  return html`<h1>Checkout</h1>${notice(problems)}<form class="checkout" method="post" action="/checkout"><div><fieldset><legend>Who is it for?</legend><div class="fields">${field('name', 'Full name')}${field('street', 'Street and number')}${field('postcode', 'Postcode')}${field('city', 'City')}</div></fieldset><fieldset><legend>How shall it come?</legend>${deliveries}</fieldset><fieldset><legend>A present?</legend><label class="choice"><input type="checkbox" name="gift" value="yes"${form.isGift ? html` checked` : ''} aria-label="Wrap as a gift"><span><strong>Wrap as a gift</strong><small>in brown paper, with your note</small></span><span class="price">free</span></label><label class="field">Note on the gift<textarea name="gift_note" rows="2" maxlength="200">${form.giftNote}</textarea></label></fieldset></div><aside class="summary"><h2>Your order</h2><ul>${summary(lines)}</ul><p>Goods <span>${money(sum)}</span></p><p>Delivery <span id="delivery-price">${chosen ? money(DELIVERIES[chosen].price) : '…'}</span></p><p class="total">Total <strong id="total" data-goods="${sum}">${money(sum + (chosen ? DELIVERIES[chosen].price : 0))}</strong></p><button class="button">Place order</button><p class="small">You pay by invoice.</p></aside></form>`;
}

export function orderPage(order: Order): Html {
  const { number, name, street, postcode, city, delivery, giftNote, lines, total } = order;
  return html`<section class="thanks"><p class="tick" aria-hidden="true">✓</p><h1>Thank you, ${name}.</h1><p>Your order <strong>${number}</strong> has been placed.</p><div class="receipt"><ul>${summary(lines)}</ul><p>${DELIVERIES[delivery].title} <span>${money(DELIVERIES[delivery].price)}</span></p><p class="total">Total <strong>${money(total)}</strong></p><p class="address">${name}<br>${street}<br>${postcode} ${city}</p>${giftNote === '' ? '' : html`<p class="address">Gift note: “${giftNote}”</p>`}</div><p><a href="/">Back to the shop</a></p></section>`;
}

function summary(lines: readonly Line[]): readonly Html[] {
  return lines.map(
    ({ product, colour, quantity }) =>
      html`<li>${quantity} × ${product.name}, ${capital(colour)} <span>${money(product.price * quantity)}</span></li>`,
  );
}
