// Two comforts; every form works without them.

for (const button of document.querySelectorAll('[data-step]')) {
  const field = document.querySelector('#quantity');
  button.addEventListener('click', () => {
    const wanted = Number(field.value) + Number(button.dataset.step);
    field.value = String(Math.min(Number(field.max), Math.max(Number(field.min), wanted)));
  });
}

const money = (cents) => `€ ${(cents / 100).toFixed(2)}`;
for (const choice of document.querySelectorAll('input[name=delivery]')) {
  choice.addEventListener('change', () => {
    const total = document.querySelector('#total');
    document.querySelector('#delivery-price').textContent = money(Number(choice.dataset.price));
    total.textContent = money(Number(total.dataset.goods) + Number(choice.dataset.price));
  });
}
