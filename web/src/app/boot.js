// Runs before the first paint: takes the stored theme and language. Blocked storage means the defaults.
(() => {
  const html = document.documentElement;
  let theme = null;
  let language = null;
  try {
    theme = localStorage.getItem('naru.theme');
    language = localStorage.getItem('naru.language');
  } catch {}
  if (theme === 'light' || theme === 'dark') html.dataset.theme = theme;
  html.lang = language === 'ko' || language === 'en' ? language : preferred();

  function preferred() {
    const known = navigator.languages
      .map((tag) => tag.slice(0, 2))
      .find((tag) => tag === 'ko' || tag === 'en');
    return known ?? 'ko';
  }
})();
