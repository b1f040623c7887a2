use afflux_scenario::{FlowColumns, Overrides, Reader, load};
use std::io::BufRead;
use std::path::Path;
struct NoParquet;
impl Reader for NoParquet {
    fn parquet(&self, _: &Path) -> Result<FlowColumns, String> {
        Err("this example reads no Parquet".into())
    }
}
fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut args = line.split('\t');
        let path = args.next().unwrap();
        let set = args.map(|pair| pair.split_once('=').map(|(k, v)| (k.to_string(), v.to_string())).expect("key=value")).collect();
        let t = std::time::Instant::now();
        match load(Path::new(&path), &Overrides { set, ..Overrides::default() }, &NoParquet) {
            Err(error) => println!("0 error {error}"),
            Ok(scenario) => {
                let loaded = t.elapsed().as_secs_f64();
                let e = afflux_net::expected(&scenario.plan).unwrap();
                println!("{} {:.3} {:.3} {:?} mem {}", e.packet_hops, loaded, t.elapsed().as_secs_f64() - loaded, e, 0u64);
            }
        }
    }
}
