// The orders of a small bookshop.
const prices = { Emma: 9.5, Walden: 12, Dune: 14.9 };

export function total(order) {
  let amount = 0;
  for (const [title, copies] of Object.entries(order)) {
    amount += prices[title] * copies;
  }
  return amount;
}

console.log("Total:", total({ Emma: 2, Dune: 1 }));
