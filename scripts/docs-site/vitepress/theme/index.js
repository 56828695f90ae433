import theme from 'vitepress/theme-without-fonts';
import './pretendard/pretendard.css';
import './style.css';

export default theme;
