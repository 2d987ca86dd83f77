const figures = document.getElementById("figures");

async function refresh() {
  try {
    const answer = await fetch(`${location.pathname}/figures`, { cache: "no-store", credentials: "omit" });
    if (answer.ok) {
      const drawn = await answer.text();
      if (drawn !== refresh.last) figures.innerHTML = refresh.last = drawn;
    }
  } catch {
    // The next try may reach the collector again.
  }
  setTimeout(refresh, 5000);
}

setTimeout(refresh, 5000);
